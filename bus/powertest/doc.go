// Package powertest cuts the power of brokers: it stores events on a disk that forgets what was not synced, and counts
// which of the confirmed ones are there afterwards. It needs /dev/fuse, and root or fusermount3: where they are missing
// it says so and tries nothing. It is a module of its own for the library that makes the disk.
package powertest
