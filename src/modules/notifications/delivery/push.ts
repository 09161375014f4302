import { ECDH } from 'node:crypto'
import type { Engine } from '#infra/context.ts'
import { keptValue, replaceValue, valueOf } from '#infra/processes/instance.ts'
import { RetrieveFailed, retrieve } from '#packages/http-client/retrieve.ts'
import type { NotificationRow } from '../store.ts'
import type { Subscription } from './push-store.ts'
import { shorten } from '#core/text/shorten.ts'

export interface VapidKeys {
  publicKey: string
  privateKey: string
}

/** This instance's VAPID keys (RFC 8292), created once, the private one encrypted. */
export type PushKeys = () => Promise<VapidKeys>
export interface HasPushKeys {
  pushKeys: PushKeys
}

/** Read once per process, on first use. */
export function createPushKeys({ postgres, secrets }: Pick<Engine, 'postgres' | 'secrets'>): PushKeys {
  let known: Promise<VapidKeys> | null = null
  const read = async (): Promise<VapidKeys> => {
    const { generateVAPIDKeys } = (await import('web-push')).default
    const fresh = generateVAPIDKeys()
    const kept = await keptValue(postgres.db, 'vapid', {
      public_key: fresh.publicKey,
      private_key: secrets.seal(fresh.privateKey, 'vapid'),
    })
    const privateKey = secrets.open(kept.private_key, 'vapid')
    if (secrets.isStale(kept.private_key))
      await replaceValue(postgres.db, 'vapid', kept, { ...kept, private_key: secrets.seal(privateKey, 'vapid') })
    return { publicKey: kept.public_key, privateKey }
  }
  return () => {
    known ??= read().catch((error: unknown) => {
      known = null
      throw error
    })
    return known
  }
}

/** Reads existing keys, which re-encrypts a private key encrypted with an older root key. */
export async function resealPushKey(engine: Pick<Engine<HasPushKeys>, 'postgres' | 'pushKeys'>): Promise<void> {
  if ((await valueOf(engine.postgres.db, 'vapid')) !== null) await engine.pushKeys()
}

/** Whether a browser's public key is valid: the format alone doesn't ensure that the point is on the curve. */
export function isPushKey(p256dh: string): boolean {
  try {
    ECDH.convertKey(p256dh, 'prime256v1', 'base64url', 'base64url', 'uncompressed')
    return true
  } catch {
    return false
  }
}

const DAY_SECONDS = 86_400
/**
 * Push services must accept 4,096 bytes including encryption (RFC 8030, 7.2). Encryption adds 103 bytes to one
 * record: 86 for its header, 16 for the tag and 1 for padding (RFC 8291, 4; RFC 8188, 2).
 */
const MAX_BYTES = 4_096
const MAX_PLAIN = MAX_BYTES - 103

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** The longest prefix of a text whose JSON fits into `most` bytes. */
function fitting(text: string, most: number): string {
  if (bytesOf(text) <= most) return text
  let [fits, over] = [0, text.length]
  while (over - fits > 1) {
    const middle = Math.floor((fits + over) / 2)
    if (bytesOf(shorten(text, middle)) <= most) fits = middle
    else over = middle
  }
  return shorten(text, fits)
}

/** The payload sent to the browser. The body is shortened first, then the link, then the title. */
export function payloadOf({ id, type, title, body, severity, action_url }: PushedRow): string {
  const room = (value: object): number => MAX_PLAIN - bytesOf(value)
  const bare = { id, type, title: '', body: null, severity, action_url: null }
  const named = { ...bare, title: fitting(title, room(bare) + bytesOf('')) }
  const linked = room({ ...named, action_url }) >= 0 ? { ...named, action_url } : named
  if (body === null) return JSON.stringify(linked)
  return JSON.stringify({ ...linked, body: fitting(body, room(linked) + bytesOf(null)) })
}
type PushedRow = Pick<NotificationRow, 'id' | 'type' | 'title' | 'body' | 'severity' | 'action_url'>

/** `gone`: the subscription no longer exists. Throws on temporary errors. */
export async function push(
  engine: Engine<HasPushKeys>,
  subscription: Subscription,
  row: NotificationRow,
): Promise<'sent' | 'gone' | { refused: string }> {
  const { publicKey, privateKey } = await engine.pushKeys()
  const { generateRequestDetails } = (await import('web-push')).default
  const { id, severity } = row
  const details = generateRequestDetails(subscription, payloadOf(row), {
    vapidDetails: { subject: contactOf(engine), publicKey, privateKey },
    TTL: DAY_SECONDS,
    urgency: severity === 'error' || severity === 'warning' ? 'high' : 'normal',
    // A repeated push replaces the first while it waits (RFC 8030, 5.4).
    topic: id,
  })
  try {
    const { status } = await retrieve(engine.outside, {
      url: new URL(details.endpoint),
      method: 'POST',
      headers: Object.entries(details.headers).flatMap(([name, value]) =>
        /^content-length$/i.test(name) ? [] : [name, value],
      ),
      body: details.body,
      mostBytes: 65_536,
      timeoutMs: 15_000,
      hops: 0,
      credential: 'vapid',
      party: subscription.id,
    })
    if (status === 404 || status === 410) return 'gone'
    if (status >= 200 && status < 300) return 'sent'
    if (status === 429 || status >= 500) throw new Error(`the push service answered ${status}`)
    return { refused: `The push service returned status ${status}.` }
  } catch (error) {
    if (error instanceof RetrieveFailed && error.why === 'refused') return { refused: error.message }
    throw error
  }
}

/** The contact address for push services (RFC 8292, 2.1). */
function contactOf({ config: { publicUrl, mailFrom } }: Engine): string {
  if (publicUrl?.startsWith('https:')) return publicUrl
  return `mailto:${/<([^<>]+)>/.exec(mailFrom)?.[1] ?? mailFrom}`
}
