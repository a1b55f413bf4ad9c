package openapi

import (
	"fmt"

	"github.com/busline/busline/restmap/strictjson"
)

// Parse reads a document that a service published, and checks what has to be right for it
// to be merged, filtered and shown. Members that documents here do
// not have are left out.
func Parse(data []byte) (*Document, error) {
	d := new(Document)
	if err := strictjson.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	d.secure()
	return d, nil
}

// JSON returns the document as JSON, the same bytes for equal documents.
func (d *Document) JSON() ([]byte, error) {
	data, err := strictjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return data, nil
}
