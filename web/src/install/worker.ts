const WORKER = '/app/worker.js'
/** The paths of the app's own workers: this one, and hashed files of the build. */
const OWN = /^\/app\/(worker|assets\/[\w.-]+)\.m?js$/

interface Policy {
  createScriptURL(url: string): string
}
let policy: Policy | null = null

/** The address of a worker of ours, as Trusted Types want it: the only strings that may become code. */
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

/** The worker for pushes, shared things and the offline page. Null where a browser has none, as over plain http. */
export async function startWorker(): Promise<ServiceWorkerRegistration | null> {
  if (!('serviceWorker' in navigator)) return null
  try {
    return (await navigator.serviceWorker.register(workerUrl(WORKER), { scope: '/app/' })) ?? null
  } catch {
    // The app works without; a page that needs it says so.
    return null
  }
}

/** The content that another app shared last; null where there is none, or not any more. */
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
  /** The origin of a page of another site that filled this in; null: another app, or a page that does not say. */
  from: string | null
  title: string
  text: string
  url: string
  files: File[]
}
