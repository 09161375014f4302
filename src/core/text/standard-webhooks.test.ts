import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { isSigned, newWebhookSecret, signWebhook } from './standard-webhooks.ts'

const now = new Date(Math.floor(Date.now() / 1000) * 1000)

test('the Standard Webhooks library accepts our signatures and we accept its, with either of two secrets', () => {
  const secrets = [newWebhookSecret(), newWebhookSecret()]
  fc.assert(
    fc.property(fc.uuid(), fc.json(), fc.nat(1), (id, body, which) => {
      const ours = signWebhook(secrets, { id, at: now, body })
      for (const secret of secrets) assert.deepEqual(new Webhook(secret).verify(body, ours), JSON.parse(body))
      const signature = new Webhook(secrets[which]!).sign(id, now, body)
      const theirs = { id, timestamp: ours['webhook-timestamp']!, signature, body: Buffer.from(body) }
      assert.ok(isSigned(theirs, secrets, now))
      assert.equal(isSigned(theirs, [newWebhookSecret()], now), false)
    }),
  )
})

test('a signature is valid only for its bytes, and for five minutes', () => {
  const secret = newWebhookSecret()
  const body = Buffer.from([0x7b, 0xff, 0x7d])
  const headers = signWebhook([secret], { id: 'one', at: now, body: '' })
  const timestamp = headers['webhook-timestamp']!
  const delivery = { id: 'one', timestamp, signature: headers['webhook-signature']!, body: Buffer.alloc(0) }
  assert.ok(isSigned(delivery, [secret], now))
  assert.equal(isSigned({ ...delivery, body }, [secret], now), false)
  // Two different invalid UTF-8 bodies, although both decode to replacement characters.
  const reference = new Webhook(secret).sign('one', now, body)
  assert.equal(
    isSigned({ ...delivery, body: Buffer.from([0x7b, 0xfe, 0x7d]), signature: reference }, [secret], now),
    false,
  )
  for (const [seconds, holds] of [
    [299, true],
    [302, false],
    [-299, true],
    [-302, false],
  ] as const)
    assert.equal(isSigned(delivery, [secret], new Date(now.getTime() + seconds * 1000)), holds, String(seconds))
  for (const wrong of [`${timestamp}x`, '', '-1', `${timestamp}.0`])
    assert.equal(isSigned({ ...delivery, timestamp: wrong }, [secret], now), false, wrong)
})
