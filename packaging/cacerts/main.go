// Command cacerts prints the certificates of the authorities that Mozilla trusts, for an
// image that has no system around the program. They are of the version in go.mod.
package main

import (
	"encoding/pem"
	"log"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	for root := range bundle.Roots() {
		if err := pem.Encode(os.Stdout, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			log.Fatal("cacerts: ", err)
		}
	}
}
