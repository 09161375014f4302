import assert from 'node:assert/strict'
import { test } from 'node:test'
import webPush from 'web-push'
import { newId } from '#core/ids.ts'
import { payloadOf } from './push.ts'

/** The keys of RFC 8291, section 5. */
const subscription = {
  endpoint: 'https://push.example/1',
  keys: {
    p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  },
}
const { publicKey, privateKey } = webPush.generateVAPIDKeys()
const vapidDetails = { subject: 'mailto:a@example.com', publicKey, privateKey }

test('every push has up to 4,096 bytes and uses the available space', () => {
  const pieces = ['x', '请', '😀', '"', '\\', '\u0001', 'é', '\ud800', '\u2028', '👨‍👩‍👧‍👦']
  for (const piece of pieces)
    for (const titleLength of [1, 200])
      for (const bodyLength of [0, 1, 500, 1_500, 4_000])
        for (const linkLength of [0, 100, 2_000, 5_000]) {
          const fill = (length: number): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
          const row = {
            id: newId(),
            type: 'x'.repeat(64),
            title: fill(titleLength),
            body: bodyLength === 0 ? null : fill(bodyLength),
            severity: 'warning' as const,
            action_url: linkLength === 0 ? null : `/${'a'.repeat(linkLength - 1)}`,
          }
          const payload = payloadOf(row)
          const { body } = webPush.generateRequestDetails(subscription, payload, { vapidDetails })
          assert.ok(body.length <= 4_096, `${piece} ${titleLength} ${bodyLength} ${linkLength}: ${body.length}`)
          const sent = JSON.parse(payload) as typeof row
          assert.ok(row.title.startsWith(sent.title))
          assert.ok(sent.body === null ? row.body === null : row.body!.startsWith(sent.body))
          if (sent.body !== row.body) assert.ok(body.length > 4_096 - 80, `${body.length} bytes, and more would fit`)
        }
})
