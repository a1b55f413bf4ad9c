package broker

import (
	"os"
	"path/filepath"
	"time"
)

const (
	// storageRoom is the number of bytes that a disk must take before JetStream is started again.
	storageRoom = 4 << 20

	// storagePause is the time between two attempts to write them.
	storagePause = time.Second
)

// restoreStorage starts JetStream again whenever its disk was full and has room. nats-server stores nothing more in a stream after
// a write to it has failed, and answers no publisher, until it is restarted.
func (b *Broker) restoreStorage() {
	for {
		select {
		case <-b.errs.diskFull:
		case <-b.closing:
			return
		}
		for !b.restartJetStream() {
			select {
			case <-time.After(storagePause):
			case <-b.closing:
				return
			}
		}
	}
}

// restartJetStream reports whether JetStream runs again, with what it had stored. It tries only if the disk has room.
func (b *Broker) restartJetStream() bool {
	if b.storage == nil {
		b.storage = b.server.JetStreamConfig()
	}
	config := *b.storage // which nats-server changes
	if !hasRoom(config.StoreDir) {
		return false
	}
	config.StoreDir = filepath.Dir(config.StoreDir) // nats-server adds its own directory
	return b.server.ShutdownJetStream() == nil && b.server.EnableJetStream(&config) == nil
}

// hasRoom reports whether the disk of a directory takes some MiB.
func hasRoom(directory string) bool {
	file, err := os.CreateTemp(directory, "room-*")
	if err != nil {
		return false
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is empty, or the disk fails
	defer file.Close()           //nolint:errcheck // Sync has reported what matters
	if _, err := file.Write(make([]byte, storageRoom)); err != nil {
		return false
	}
	return file.Sync() == nil
}
