const WORKER = '/app/worker.js'
/** The paths of the app's workers: the service worker and hashed build files. */
const OWN = /^\/app\/(worker|assets\/[\w.-]+)\.m?js$/

interface Policy {
  createScriptURL(url: string): string
}
let policy: Policy | null = null

/** A Trusted Types policy that allows only the app's own worker URLs. */
export function workerUrl(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }
  policy ??= (trustedTypes ?? { createPolicy: (_: string, rules: Policy) => rules }).createPolicy('app-worker', {
    createScriptURL(given) {
      if (!OWN.test(given)) throw new TypeError(`${given} is not a worker of this app`)
      return given
    },
  })
  return policy.createScriptURL(url)
}

/**
 * The service worker for push notifications, shared content and the offline page. Null if unsupported, such as over
 * plain HTTP.
 */
export async function startWorker(): Promise<ServiceWorkerRegistration | null> {
  if (!('serviceWorker' in navigator)) return null
  try {
    return (await navigator.serviceWorker.register(workerUrl(WORKER), { scope: '/app/' })) ?? null
  } catch {
    // The app works without it; pages that need it show a message.
    return null
  }
}

/** The content another app shared last; null if there is none or it expired. */
export async function takeShared(): Promise<Shared | null> {
  const worker = (await startWorker()) && (await navigator.serviceWorker.ready).active
  if (!worker) return null
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.addEventListener('message', ({ data }) => resolve(data as Shared | null), { once: true })
    port1.start()
    worker.postMessage('take what was shared', [port2])
  })
}

export interface Shared {
  /** The origin of the web page that opened the share page; null: another app, or unknown. */
  from: string | null
  title: string
  text: string
  url: string
  files: File[]
}
