package callctx

import (
	"encoding/hex"
	"hash/fnv"
)

// RootTraceID returns the id of the trace that a request begins which names none: the FNV-1a hash of its message id, of
// 128 bits, as 32 hexadecimal digits. Both sides know it, and it does not travel. It is "" without a message id.
func RootTraceID(msgID string) string {
	if msgID == "" {
		return ""
	}
	hash := fnv.New128a()
	_, _ = hash.Write([]byte(msgID)) // never fails
	return hex.EncodeToString(hash.Sum(nil))
}
