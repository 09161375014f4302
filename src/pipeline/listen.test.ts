import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { originAt } from './listen.ts'

test('a server on all addresses names one that it answers at', async () => {
  await using server = await testServer({ environment: { UK_HOST: '0.0.0.0' } })
  assert.match(server.origin, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  assert.equal(server.app.engine.origin(), server.origin)
  // Under the name 0.0.0.0, a cookie would get 421.
  assert.equal((await server.stranger.get('/auth/session')).body.error.code, 'missing_credentials')
})

test('an origin consists of the host, or its public name, and the port', () => {
  const cases: [host: string, allowed: string[], origin: string][] = [
    ['127.0.0.1', ['uk.example.com'], 'http://127.0.0.1:80'],
    ['::1', [], 'http://[::1]:80'],
    ['::', [], 'http://[::1]:80'],
    ['0.0.0.0', ['uk.example.com', 'other'], 'http://uk.example.com:80'],
    ['0.0.0.0', ['uk.example.com:8080'], 'http://uk.example.com:8080'],
    ['::', ['[fd00::1]:8080'], 'http://[fd00::1]:8080'],
  ]
  for (const [host, allowedHosts, origin] of cases) assert.equal(originAt({ host, allowedHosts }, 80), origin)
})
