package main

import (
	"os"
	"runtime/debug"
	"time"
)

// A service that gives its memory back after each request; with "well" it keeps it.
func main() {
	well := len(os.Args) > 1
	var sum byte
	kept := make([]byte, 48<<20)
	for {
		buffer := kept
		if !well {
			buffer = make([]byte, 48<<20)
		}
		for at := 0; at < len(buffer); at += 4096 {
			buffer[at]++
			sum += buffer[at]
		}
		if !well {
			debug.FreeOSMemory()
		}
		time.Sleep(10 * time.Millisecond)
	}
}
