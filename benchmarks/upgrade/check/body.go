// Package check is what both sides of a call between versions, and who looks at them through HTTP, agree on.
package check

import (
	"crypto/sha256"
	"fmt"
	"io"
)

// body is a body that is not read yet.
type body struct{ at, size int64 }

// Body returns a body of so many bytes, which shows whether some of them were lost, repeated or exchanged.
func Body(size int64) io.Reader { return &body{size: size} }

// Read implements io.Reader.
func (b *body) Read(data []byte) (int, error) {
	if b.at == b.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(data)), b.size-b.at))
	for i := range n {
		b.at++
		data[i] = byte(b.at*b.at>>11 ^ b.at)
	}
	return n, nil
}

// Digest reads all of a body, and returns its length and its sum.
func Digest(from io.Reader) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, from)
	return fmt.Sprintf("%d bytes, %.4x", n, sum.Sum(nil)), err
}

// WantDigest returns what Digest returns of a [Body].
func WantDigest(size int64) string {
	text, _ := Digest(Body(size)) // it can be read
	return text
}
