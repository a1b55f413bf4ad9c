module github.com/busline/busline/bus/test/simulation/replay

go 1.26.0

require github.com/tetratelabs/wazero v1.12.0

require golang.org/x/sys v0.50.0 // indirect
