package main

import (
	"net"
	"sync"
)

// wire counts how often the client of a connection sends something and waits
// for the answer.
type wire struct {
	mu      sync.Mutex
	trips   int
	waiting bool // something was sent since the last answer
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trips
}

// watched returns conn with its round trips counted.
func (w *wire) watched(conn net.Conn) net.Conn { return watchedConn{conn, w} }

type watchedConn struct {
	net.Conn
	w *wire
}

func (c watchedConn) Write(p []byte) (int, error) {
	c.w.mu.Lock()
	c.w.waiting = true
	c.w.mu.Unlock()
	return c.Conn.Write(p)
}

func (c watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if n > 0 && c.w.waiting {
		c.w.waiting = false
		c.w.trips++
	}
	return n, err
}
