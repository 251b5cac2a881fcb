package main

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal and nothing anywhere else.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, total int64) progress {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return progress{}
	}
	return progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(file),
		progressbar.OptionSetDescription("importing"),
		progressbar.OptionShowBytes(true),
	)}
}

// add may be called by several goroutines. The bar is a nicety: that it could
// not be drawn is no reason to stop.
func (p progress) add(bytes int) {
	if p.bar != nil {
		_ = p.bar.Add(bytes)
	}
}

func (p progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
