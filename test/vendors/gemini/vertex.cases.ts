import assert from 'node:assert/strict'
import { createSign } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Json } from '../vendor.ts'
import { startVertex, type Vertex } from './vertex.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function assertion({ account }: Vertex, more: Json = {}, key: string = account['private_key']): string {
  const iat = Math.floor(Date.now() / 1000)
  const claims = {
    iss: account['client_email'],
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    aud: account['token_uri'],
    iat,
    exp: iat + 3600,
    ...more,
  }
  const text = `${encode({ alg: 'RS256', typ: 'JWT', kid: account['private_key_id'] })}.${encode(claims)}`
  return `${text}.${createSign('sha256').update(text).sign(key, 'base64url')}`
}

async function token(vendor: Vertex, jwt = assertion(vendor)): Promise<Json> {
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: jwt })
  return (await (await fetch(vendor.account['token_uri'], { method: 'POST', body })).json()) as Json
}

async function ask(vendor: Vertex, bearer: string, model: string, body: Json): Promise<Response> {
  const path = `/v1/projects/${vendor.project}/locations/${vendor.location}/publishers/${model}`
  const headers = { authorization: `Bearer ${bearer}` }
  return await fetch(vendor.origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

describe('vertex', () => {
  test('a signed assertion is exchanged for a token, and the token gives an answer', async () => {
    await using vendor = await startVertex()
    const { access_token: bearer, expires_in: life } = await token(vendor)
    assert.equal(life, 3600)
    const contents = [{ role: 'user', parts: [{ text: 'one two' }] }]
    const whole = (await (
      await ask(vendor, bearer, 'google/models/gemini-2.0-flash:generateContent', { contents })
    ).json()) as Json
    assert.equal(whole['candidates'][0].content.parts[0].text, 'one two')
    assert.equal(whole['usageMetadata'].trafficType, 'ON_DEMAND')
    const stream = await ask(vendor, bearer, 'google/models/gemini-2.0-flash:streamGenerateContent?alt=sse', {
      contents,
    })
    assert.match(await stream.text(), /^data: \{.*\r\n\r\n/)
    const messages = [{ role: 'user', content: 'one two' }]
    const claude = { anthropic_version: 'vertex-2023-10-16', max_tokens: 9, messages }
    const answer = (await (
      await ask(vendor, bearer, 'anthropic/models/claude-sonnet-5-5:rawPredict', claude)
    ).json()) as Json
    assert.equal(answer['content'][0].text, 'one two')
    const events = await ask(vendor, bearer, 'anthropic/models/claude-sonnet-5-5:streamRawPredict', {
      ...claude,
      stream: true,
    })
    assert.match(await events.text(), /event: message_stop/)
  })

  test('a wrong signature, audience, age, or scope gives no token, and a made-up token is rejected', async () => {
    await using vendor = await startVertex({ tokenLife: 0 })
    await using other = await startVertex()
    const why = async (more: Json, key?: string) =>
      (await token(vendor, assertion(vendor, more, key)))['error_description']
    assert.match(await why({}, other.account['private_key']), /Invalid JWT Signature/)
    assert.match(await why({ aud: 'https://example.com/token' }), /audience/)
    assert.match(await why({ iat: 1, exp: 3601 }), /short-lived/)
    assert.match(await why({ exp: Math.floor(Date.now() / 1000) + 7200 }), /short-lived/)
    assert.match(await why({ scope: 'email' }), /scope/)
    const contents = [{ role: 'user', parts: [{ text: 'x' }] }]
    const { access_token: expiredToken } = await token(vendor)
    for (const bearer of ['ya29.made-up', expiredToken]) {
      const answer = await ask(vendor, bearer, 'google/models/gemini-2.0-flash:generateContent', { contents })
      assert.deepEqual([answer.status, ((await answer.json()) as Json)['error'].status], [401, 'UNAUTHENTICATED'])
    }
  })
})
