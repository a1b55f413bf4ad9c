// Package databasetest holds package outbox to real databases, SQLite and PostgreSQL, and kills what uses them. It is a
// module of its own for their drivers. The programs of PostgreSQL (Debian: postgresql) have to be installed; without
// them its tests are skipped, but in CI they fail.
//
//	go test -C bus/events/outbox/databasetest ./...                      # the short form
//	BUSLINE_FAULTS=long go test -C bus/events/outbox/databasetest -v -timeout 60m -run Kill   # 100 000 events
package databasetest
