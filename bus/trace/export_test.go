package trace

// Ring is a ring of records, for tests.
type Ring struct{ *ring }

// NewRing returns a ring of so many bytes.
func NewRing(bytes int) Ring { return Ring{newRing(bytes)} }

// Add adds a record.
func (r Ring) Add(record []byte) { r.add(record) }

// All returns copies of the records, the oldest first.
func (r Ring) All() (records []string) {
	r.each(func(record []byte) { records = append(records, string(record)) })
	return records
}
