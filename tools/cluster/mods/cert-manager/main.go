// Command cert-manager runs cert-manager's own controllers for CA and self-signed issuers, with upstream's defaults.
// Upstream's commands are nested modules that the module proxy does not have; the controllers are public packages.
// Not here: the webhook (its package is internal; so nothing is validated beyond the CRDs' schemas), leader election,
// metrics, health, ACME, Vault, Venafi. Says "process N is ready" once all it watches has been listed.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	crca "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	crselfsigned "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"k8s.io/klog/v2"
)

const workers = 5

var names = []string{
	issuers.ControllerName, clusterissuers.ControllerName, approver.ControllerName, crca.CRControllerName,
	crselfsigned.CRControllerName, issuing.ControllerName, keymanager.ControllerName, readiness.ControllerName,
	requestmanager.ControllerName, revisionmanager.ControllerName, trigger.ControllerName,
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "empty: in-cluster")
	namespace := flag.String("cluster-resource-namespace", "cert-manager", "where ClusterIssuers' Secrets are")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         *kubeconfig,
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: *namespace},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	shared, err := factory.Build()
	if err != nil {
		log.Fatal(err)
	}
	var running sync.WaitGroup
	for _, name := range names {
		run, err := controller.Known()[name](factory)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		running.Go(func() {
			if err := run.Run(workers, ctx); ctx.Err() == nil {
				log.Fatalf("%s ended: %v", name, err)
			}
		})
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.SharedInformerFactory.WaitForCacheSync(ctx.Done())
	shared.KubeSharedInformerFactory.WaitForCacheSync(ctx.Done())
	log.Printf("process %d is ready", os.Getpid())
	running.Wait()
}
