import { uk, unlessRefused } from '../api.ts'
import { ReadableError } from '../../ui/calls/errors.ts'
import { startWorker } from './worker.ts'

const NAME = 'ukiyo.push'

export const canPush = (): boolean =>
  window.isSecureContext && 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

/** The ID of this browser's subscription, valid while the server lists it. */
export const ownSubscription = (): string | null => localStorage.getItem(NAME)

/** Asks for permission, subscribes with the browser's push service, and registers the subscription with the server. */
export async function startPushes(): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new ReadableError('Notifications are blocked for this site. Allow them in your browser settings first.')
  const registration = (await startWorker()) && (await navigator.serviceWorker.ready)
  if (!registration)
    throw new ReadableError('Push notifications need a service worker, which this browser doesn’t support here.')
  const { public_key } = await uk.notifications.push_key()
  // Replaces a subscription of another user or another instance at this address.
  await (await registration.pushManager.getSubscription())?.unsubscribe()
  const subscription = await registration.pushManager
    .subscribe({ userVisibleOnly: true, applicationServerKey: public_key })
    .catch(() => {
      throw new ReadableError('Your browser’s push service can’t be reached. Try again later or use another browser.')
    })
  const { endpoint, keys, expirationTime = null } = subscription.toJSON()
  const { p256dh = '', auth = '' } = keys ?? {}
  const { id } = await uk.notifications.push_subscribe({ endpoint: endpoint!, keys: { p256dh, auth }, expirationTime })
  localStorage.setItem(NAME, id)
}

export async function stopPushes(): Promise<void> {
  const id = ownSubscription()
  // The ID is kept until the server answers, so that a retry reuses it.
  if (id !== null) await unlessRefused(uk.notifications.push_unsubscribe({ id }))
  await forgetPushes()
}

/** Unsubscribes only in the browser: the server removes the subscription with the session. */
export async function forgetPushes(): Promise<void> {
  localStorage.removeItem(NAME)
  if (!canPush()) return
  const registration = await navigator.serviceWorker.getRegistration('/app/')
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}
