//go:build !cgo

package database_test

func cgoBackends() []backend { return nil }
