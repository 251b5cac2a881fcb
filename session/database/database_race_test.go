//go:build race

package database_test

// pureBackends is empty under the race detector, which watches every memory
// access of SQLite translated into Go and finds nothing there that it does not
// find of ours on the other drivers, at several times the cost of all of them.
// `make pure` runs the tests on it, without cgo and so without the detector.
func pureBackends() []backend { return nil }
