import { Said, uk, unlessRefused } from '../api.ts'
import { startWorker } from './worker.ts'

const NAME = 'ukiyo.push'

/** Whether this browser can get pushes at all. */
export const canPush = (): boolean =>
  window.isSecureContext && 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

/** The server's name for this browser's subscription; it is this browser's while the server lists it. */
export const ownSubscription = (): string | null => localStorage.getItem(NAME)

/** Asks the person, then the browser's push service, and tells the server. */
export async function startPushes(): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new Said('This browser does not show notifications of this site: allow them in its settings first.')
  const registration = (await startWorker()) && (await navigator.serviceWorker.ready)
  if (!registration) throw new Said('This browser keeps no worker for this site, and gets no pushes without one.')
  const { public_key } = await uk.notifications.push_key()
  // One of another person, or of another instance at this address, is over with this.
  await (await registration.pushManager.getSubscription())?.unsubscribe()
  const subscription = await registration.pushManager
    .subscribe({ userVisibleOnly: true, applicationServerKey: public_key })
    .catch(() => {
      throw new Said('The push service of this browser cannot be reached. Try again later, or another browser.')
    })
  const { endpoint, keys, expirationTime = null } = subscription.toJSON()
  const { p256dh = '', auth = '' } = keys ?? {}
  const { id } = await uk.notifications.push_subscribe({ endpoint: endpoint!, keys: { p256dh, auth }, expirationTime })
  localStorage.setItem(NAME, id)
}

export async function stopPushes(): Promise<void> {
  const id = ownSubscription()
  // The ID is kept until the server has answered, for another try.
  if (id !== null) await unlessRefused(uk.notifications.push_unsubscribe({ id }))
  await forgetPushes()
}

/** Forgets pushes in the browser alone: the server forgets them with the session. */
export async function forgetPushes(): Promise<void> {
  localStorage.removeItem(NAME)
  if (!canPush()) return
  const registration = await navigator.serviceWorker.getRegistration('/app/')
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}
