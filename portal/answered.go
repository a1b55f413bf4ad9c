package portal

import (
	"fmt"
	"net/http"
)

// sayWhoAnswered tells a client which instance has answered, and under what id its message is found in logs:
//
//	Proxy-Status: busline; next-hop="k3f9x2m7qp.calculator.example"; msg-id="4Q5CBU6RBMRM4XQVWYTLP2S7CA"
//
// That is the header in which a proxy says where a response comes from (RFC 9209). An entry that the service itself has
// set there comes before this one.
func sayWhoAnswered(to, response http.Header) {
	host, id, message := response.Get("Bus-From-Host"), response.Get("Bus-From-Id"), response.Get("Bus-Msg-Id")
	if host != "" && id != "" {
		to.Add("Proxy-Status", fmt.Sprintf("busline; next-hop=%q; msg-id=%q", id+"."+host, message))
	}
}
