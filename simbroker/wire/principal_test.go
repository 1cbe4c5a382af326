package wire

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
)

// named is a certificate with attributes in this order, one a part.
func named(t *testing.T, attributes ...pkix.AttributeTypeAndValue) *x509.Certificate {
	t.Helper()
	var parts pkix.RDNSequence
	for _, a := range attributes {
		parts = append(parts, pkix.RelativeDistinguishedNameSET{a})
	}
	der, err := asn1.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{RawSubject: der}
}

func attribute(text string, oid ...int) pkix.AttributeTypeAndValue {
	return pkix.AttributeTypeAndValue{Type: oid, Value: text}
}

func country(text string) pkix.AttributeTypeAndValue      { return attribute(text, 2, 5, 4, 6) }
func organization(text string) pkix.AttributeTypeAndValue { return attribute(text, 2, 5, 4, 10) }
func unit(text string) pkix.AttributeTypeAndValue         { return attribute(text, 2, 5, 4, 11) }
func commonName(text string) pkix.AttributeTypeAndValue   { return attribute(text, 2, 5, 4, 3) }

// Names are written as Java's X500Principal.getName() writes them.
func TestDistinguishedName(t *testing.T) {
	for _, test := range []struct {
		attributes []pkix.AttributeTypeAndValue
		want       string
	}{
		{nil, "User:"},
		{[]pkix.AttributeTypeAndValue{country("DE"), organization("Ops"), unit("a"), unit("b"), commonName("exporter")}, "User:CN=exporter,OU=b,OU=a,O=Ops,C=DE"},
		{[]pkix.AttributeTypeAndValue{organization(`A, "B"=C+D;<E>#\`), commonName(" x y ")}, `User:CN=\ x y\ ,O=A\, \"B\"\=C\+D\;\<E\>\#\\`},
		{[]pkix.AttributeTypeAndValue{attribute("example", 0, 9, 2342, 19200300, 100, 1, 25), attribute("7", 0, 9, 2342, 19200300, 100, 1, 1)}, "User:UID=7,DC=example"},
		{[]pkix.AttributeTypeAndValue{attribute("a", 2, 5, 4, 5), commonName("Zürich")}, "User:CN=Zürich,2.5.4.5=#130161"},
	} {
		got, err := PrincipalRules{{}}.of(named(t, test.attributes...))
		if err != nil || got != test.want {
			t.Errorf("%s, %v; want %s", got, err, test.want)
		}
	}
}

// Principals are what Kafka 4.3.1 makes of the name, none where it fails.
func TestPrincipalRules(t *testing.T) {
	alice := []pkix.AttributeTypeAndValue{country("DE"), unit("Ops"), commonName("Alice")}
	for _, test := range []struct{ rules, want string }{
		{"DEFAULT", "User:CN=Alice,OU=Ops,C=DE"},
		{"RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/L", "User:alice@ops"},
		{"RULE:^CN=(.*?),OU=Other.*$/$1/, RULE:CN=([^,]*).*/$1/U,DEFAULT", "User:ALICE"},
		{"RULE:^CN=(.*?)$/$1/,DEFAULT", "User:Alice,OU=Ops,C=DE"},
		{`RULE:^CN=(.*?),.*$/$1\/x/`, "User:Alice/x"},
		{"RULE:.*/anon/", "User:anonanon"},
		{"RULE:CN=(.*?),OU=(.*?),C=(.*?)/$1@$2,$3;/U", "User:ALICE@OPS,;DE"},
		{"RULE:^CN=(.*?),.*$/$1-$9/", "User:Alice-$9"},
		{`RULE:^CN=(.*?),.*$/$1\-x/`, "User:Alice-x"},
		{"RULE:^CN=(?<n>.*?),.*$/${n}/", "User:Alice"},
		{"RULE:^CN=(?<n>.*?),.*$/${m}/", ""},
		{"RULE:^CN=(.*?),.*$/$10/", "User:Alice0"},
		{"RULE:^CN=(.*?),.*$/$8 $9/", ""},
		{"RULE:^CN=.*/$1/", ""},
		{"RULE:^CN=.*/$0/", "User:CN=Alice,OU=Ops,C=DE"},
		{"RULE:^CN=(.*?),.*$/$/", ""},
		{"RULE:^CN=(.*?),.*$/$1$x/", ""},
		{"RULE:(CN|OU|C)=([^,]*),?.*/$2/", "User:Alice"},
		{"RULE:CN=(.*?)(,UID=.*)?,.*/$1$2/", "User:Alice"},
		{"RULE:^CN=(.*?),.*$/$12$01/", "User:Alice2Alice"},
		{"RULE:(?i)^cn=(.*?),.*$/$1/", "User:Alice"},
		{`RULE:^CN=(.*?),.*$/\$1/`, "User:$1"},
		{"RULE:(.)*/$1/", "User:E"},
		{"RULE:([A-Z]+=)?[^,]*,?.*?/<$1>/", "User:<CN=><OU=><C=><>"},
		{`RULE:\bOU.*|C.*/y/`, "User:y"},
		{"RULE:(C|CN=.*|)/[$1]/", "User:[C][]N[]=[]A[]l[]i[]c[]e[],[]O[]U[]=[]O[]p[]s[],[C][]=[]D[]E[]"},
		{"RULE:^CN=(.*?),.*$/$1,x/", "User:Alice,x"},
		{"RULE:/x/,DEFAULT", "User:CN=Alice,OU=Ops,C=DE"},
		{"RULE:.*//", "User:"},
		{"RULE:^OU=(.*?)$/$1/,DEFAULT", "User:CN=Alice,OU=Ops,C=DE"},
		{"RULE:^OU=(.*?)$/$1/", ""},
		{`RULE:.*/x\\/`, `User:x\x\`},
	} {
		rules, err := ParsePrincipalRules(test.rules)
		if err != nil {
			t.Errorf("%s: %v", test.rules, err)
			continue
		}
		if got, err := rules.of(named(t, alice...)); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %s, %v; want %s", test.rules, got, err, test.want)
		}
	}
	for _, text := range []string{"RULE:a", "RULE:(/b/", "LOWER", "RULE:a/b/X", "DEFAULT DEFAULT", "RULE:^CN=(?!x).*/x/"} {
		if rules, err := ParsePrincipalRules(text); err == nil {
			t.Errorf("%s gives %v", text, rules)
		}
	}
}
