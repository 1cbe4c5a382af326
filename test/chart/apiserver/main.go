// Command apiserver is Kubernetes' API server and the etcd that it stores in, in one
// process on loopback: what decides whether an object is taken, and nothing that
// would act on one. There is no node, no controller and no scheduler.
//
//	apiserver FOLDER
//
// keeps everything in an empty folder, writes FOLDER/kubeconfig for an administrator,
// and prints its path once requests are answered. Interrupted, it ends. Its version is
// given by the linker (k8s.io/component-base/version), as Kubernetes' own is.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: apiserver FOLDER")
		os.Exit(2)
	}
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

// serve runs both until the process is told to stop.
func serve(folder string) error {
	etcd, err := startEtcd(filepath.Join(folder, "etcd"))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	port, err := freePort()
	if err != nil {
		return err
	}
	token := rand.Text()
	tokens := filepath.Join(folder, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",administrator,administrator,system:masters\n"), 0o600); err != nil {
		return err
	}
	key := filepath.Join(folder, "service-accounts.key")
	if err := writeKey(key); err != nil {
		return err
	}
	address := fmt.Sprintf("https://127.0.0.1:%d", port)
	command := app.NewAPIServerCommand()
	command.SetArgs([]string{
		"--etcd-servers=http://" + etcd.Clients[0].Addr().String(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(folder, "certificates"),
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--service-account-issuer=" + address,
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--endpoint-reconciler-type=none", // nothing in the cluster looks for it
	})
	go announce(folder, address, token)
	return command.Execute()
}

// startEtcd starts a store of one member, at ports that the system chooses.
func startEtcd(folder string) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	anywhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.AdvertiseClientUrls = anywhere, anywhere
	config.ListenPeerUrls, config.AdvertisePeerUrls = anywhere, anywhere
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = true // what it keeps is of no use to anybody later
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	}
}

// freePort is one that was free a moment ago: the API server wants a number.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// writeKey writes the key by which tokens of service accounts are signed.
func writeKey(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// announce waits until the server is ready, and says how to reach it.
func announce(folder, address, token string) {
	authority := filepath.Join(folder, "certificates", "apiserver.crt")
	for ; ; time.Sleep(100 * time.Millisecond) {
		if ready(address, authority, token) == nil {
			break
		}
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: judge, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: administrator, user: {token: %q}}]
contexts: [{name: judge, context: {cluster: judge, user: administrator}}]
current-context: judge
`, address, authority, token)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
	fmt.Println(kubeconfig)
}

// ready asks the server whether it is, trusting the certificate that it has written.
func ready(address, authority, token string) error {
	certificate, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(certificate) {
		return errors.New("no certificate in " + authority)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequest(http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
