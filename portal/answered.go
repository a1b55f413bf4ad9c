package portal

import (
	"fmt"
	"net/http"
)

// sayWhoAnswered tells a client which instance has answered, and under what id its message is found in logs:
//
//	Proxy-Status: busline; next-hop="k3f9x2m7qp.calculator.example"; msg-id="4Q5CBU6RBMRM4XQVWYTLP2S7CA"
//
// It is the header in which a proxy speaks of where it has a response from (RFC 9209). What a service says there itself
// stands before it.
func sayWhoAnswered(to, response http.Header) {
	host, id, message := response.Get("Bus-From-Host"), response.Get("Bus-From-Id"), response.Get("Bus-Msg-Id")
	if host != "" && id != "" {
		to.Add("Proxy-Status", fmt.Sprintf("busline; next-hop=%q; msg-id=%q", id+"."+host, message))
	}
}
