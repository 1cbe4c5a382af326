package sasl

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	_ "crypto/sha256" // the hashes of the algorithms
	_ "crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// Keys are the public keys with which tokens are checked, by key id.
type Keys struct {
	keys []key
}

type key struct {
	id     string
	public crypto.PublicKey // *rsa.PublicKey or *ecdsa.PublicKey
}

// ErrNoKeys is returned for a set without a key that can be used.
var ErrNoKeys = errors.New("there is no RSA or EC key in the set")

// ParseKeys reads a JSON Web Key Set (RFC 7517). Keys of other kinds, and those
// for encryption, are left out.
func ParseKeys(document []byte) (*Keys, error) {
	var set struct {
		Keys []struct {
			Type  string `json:"kty"`
			ID    string `json:"kid"`
			Use   string `json:"use"`
			N     string `json:"n"`
			E     string `json:"e"`
			Curve string `json:"crv"`
			X     string `json:"x"`
			Y     string `json:"y"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("the key set is no JSON: %w", err)
	}
	all := &Keys{}
	for _, k := range set.Keys {
		var public crypto.PublicKey // an *rsa or *ecdsa one
		curve := curves[k.Curve]
		switch {
		case k.Use == "enc":
			continue
		case k.Type == "RSA":
			public = &rsa.PublicKey{N: number(k.N), E: int(number(k.E).Int64())}
		case k.Type == "EC" && curve != nil:
			point := append([]byte{4}, coordinate(curve, k.X)...)
			var err error
			if public, err = ecdsa.ParseUncompressedPublicKey(curve, append(point, coordinate(curve, k.Y)...)); err != nil {
				continue
			}
		default:
			continue
		}
		all.keys = append(all.keys, key{k.ID, public})
	}
	if len(all.keys) == 0 {
		return nil, ErrNoKeys
	}
	return all, nil
}

var curves = map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}

// number reads a number as RFC 7518 writes it; 0 for what is none.
func number(text string) *big.Int {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return new(big.Int)
	}
	return new(big.Int).SetBytes(b)
}

// coordinate is a number in as many bytes as the curve's take.
func coordinate(curve elliptic.Curve, text string) []byte {
	b := number(text).Bytes()
	return append(make([]byte, max((curve.Params().BitSize+7)/8-len(b), 0)), b...)
}

// algorithms are those of RFC 7518, section 3.1, that have a public key.
var algorithms = map[string]struct {
	hash     crypto.Hash
	elliptic bool
}{
	"RS256": {crypto.SHA256, false}, "RS384": {crypto.SHA384, false}, "RS512": {crypto.SHA512, false},
	"ES256": {crypto.SHA256, true}, "ES384": {crypto.SHA384, true}, "ES512": {crypto.SHA512, true},
}

// verify says whether one of the keys has signed a text.
func (k *Keys) verify(header tokenHeader, signed string, signature []byte) bool {
	algorithm, ok := algorithms[header.Algorithm]
	if !ok {
		return false
	}
	h := algorithm.hash.New()
	h.Write([]byte(signed))
	sum := h.Sum(nil)
	for _, each := range k.keys {
		if header.KeyID != "" && each.id != header.KeyID {
			continue
		}
		switch public := each.public.(type) {
		case *rsa.PublicKey:
			if !algorithm.elliptic && rsa.VerifyPKCS1v15(public, algorithm.hash, sum, signature) == nil {
				return true
			}
		case *ecdsa.PublicKey:
			half := len(signature) / 2
			r, s := new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])
			if algorithm.elliptic && ecdsa.Verify(public, sum, r, s) {
				return true
			}
		}
	}
	return false
}
