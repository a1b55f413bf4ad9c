package main

import (
	"github.com/busline/busline/examples/payments/paymentsapi"
	"github.com/busline/busline/examples/payments/paymentssvc"
)

// unions chooses the variant of a union, and fills in its members.
func unions(v *visit) error {
	return do(v.startPayments, v.opens("#/payments.example:443/POST/pay"),
		v.sees(".operation", "Pay takes a payment, and returns its receipt."),
		// the page lists the variants
		v.clicks(`section[aria-label="Arguments"] summary.member`), v.sees(".schema .schema", "card"),
		v.sees(".schema .schema", "transfer"), v.clicks(`.schema .schema summary.member`),
		v.sees(".schema .schema .schema", "number"),
		// one may choose, and what is typed into one is kept
		v.fills(`[name="cents"]`, "450"), v.chooses(`[name="currency"]`, `"EUR"`),
		v.fills(`[name="number"]`, "4111111111111111"), v.clicks(sends),
		v.sees(".response .status", "200"), v.sees(".response pre", `"kind": "card"`),
		v.sees(".response pre", `"number": "4111111111111111"`),
		v.chooses(`[name="kind"]`, "voucher"), v.fills(`[name="code"]`, "TEA-2026"), v.fills(`[name="worth"]`, "1"),
		v.clicks(sends), v.sees(".response .status", "402"), v.sees(".output", "voucher TEA-2026 is worth only 1"),
		v.fills(`[name="code"]`, "T"), v.clicks(sends), v.sees(".response .status", "422"),
		v.awaits("the member of the variant is marked",
			`document.querySelector('[name="code"]').getAttribute("aria-invalid") === "true"`),
		v.chooses(`[name="kind"]`, "card"), v.awaits("the number is still there",
			`document.querySelector('[name="number"]').value === "4111111111111111"`),
		// the form shows JSON, and JSON the form
		v.clicks(".body .mode:nth-child(2)"), v.fills(".body > textarea",
			`{"cents":1,"currency":"CHF","by":{"iban":"DE02120300000000202051","kind":"transfer"}}`),
		v.clicks(".body .mode:nth-child(1)"), v.awaits("the form shows the transfer",
			`document.querySelector('[name="kind"]').value === "transfer" && document.querySelector('[name="iban"]').value !== ""`),
		v.clicks(sends), v.sees(".response pre", `"settled": null`),
		v.clicks(".body .mode:nth-child(2)"), v.fills(".body > textarea", `{"by":{"kind":"cash"}}`), v.clicks(sends),
		v.sees(".response .status", "400"), v.sees(".output", "by.kind (body): expects one of card, transfer, voucher"),
		// numbers with names
		v.opens("#/payments.example:443/POST/receipts"), v.sees(".request-form", "1 (Promised)"),
		v.chooses(`[name="state"]`, "1"), v.clicks(sends), v.sees(".response pre", `"state": 1`),
		// an event with a union is published by hand
		v.operates, v.opens("#/events/payments.example/on-paid"), v.sees(".operation .description", "OnPaid tells"),
		v.awaits("the form", `!document.querySelector(".request-form fieldset").disabled`),
		v.fills(`[name="number"]`, "1"), v.fills(`[name="cents"]`, "5"), v.chooses(`[name="kind"]`, "voucher"),
		v.fills(`[name="code"]`, "TEA-2026"), v.fills(`[name="worth"]`, "5"), v.clicks(publishes),
		v.sees(".response .status", "202"))
}

func (v *visit) startPayments() error {
	conn, err := v.stage.join(paymentsapi.Host)
	if err != nil {
		return err
	}
	return paymentssvc.Serve(conn)
}
