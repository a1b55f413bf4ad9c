package broker

import (
	"os"
	"path/filepath"
	"time"
)

const (
	// minFreeBytes is the number of bytes that must fit on a disk before JetStream is restarted.
	minFreeBytes = 4 << 20

	// restoreInterval is the time between two attempts to restart JetStream.
	restoreInterval = time.Second
)

// restoreJetStream restarts JetStream after its disk was full and has space again. After a failed write nats-server
// stores nothing more in a stream, and answers no publisher, until a restart.
func (b *Broker) restoreJetStream() {
	for {
		select {
		case <-b.log.diskFull:
		case <-b.closing:
			return
		}
		for !b.restartJetStream() {
			select {
			case <-time.After(restoreInterval):
			case <-b.closing:
				return
			}
		}
	}
}

// restartJetStream restarts JetStream with its stored data, if the disk has space. It reports whether JetStream runs.
func (b *Broker) restartJetStream() bool {
	if b.jetStream == nil {
		b.jetStream = b.server.JetStreamConfig()
	}
	config := *b.jetStream // a copy, as nats-server modifies it
	if !hasFreeSpace(config.StoreDir) {
		return false
	}
	config.StoreDir = filepath.Dir(config.StoreDir) // nats-server adds its own directory
	return b.server.ShutdownJetStream() == nil && b.server.EnableJetStream(&config) == nil
}

// hasFreeSpace reports whether minFreeBytes can be written to the disk of a directory.
func hasFreeSpace(directory string) bool {
	file, err := os.CreateTemp(directory, "free-*")
	if err != nil {
		return false
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the file is temporary
	defer file.Close()           //nolint:errcheck // Sync reports the errors of writing
	if _, err := file.Write(make([]byte, minFreeBytes)); err != nil {
		return false
	}
	return file.Sync() == nil
}
