package openapi

import (
	"fmt"

	"github.com/busline/busline/restmap/strictjson"
)

// Parse parses a document that a service has published, and checks it as far as merging, filtering and showing it need.
// Members that [Document] does not have are left out, and so is what only the authors may see.
func Parse(data []byte) (*Document, error) {
	d, err := ParseOwn(data)
	if err != nil {
		return nil, err
	}
	for _, item := range d.Paths {
		for _, operation := range item.Operations() {
			operation.Claims, operation.Also, operation.Stored = "", nil, false
		}
	}
	return d, nil
}

// ParseOwn is Parse for a document that only the authors of a service see; it keeps what Parse leaves out.
func ParseOwn(data []byte) (*Document, error) {
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
