import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

/**
 * Everything that sends a request to the outside, and on whose connections: the credential that it is sent with, and the
 * party that reads the answer, as the file says them. Who is new here decides both: two that share a connection can read
 * each other's answers when a server sends one too many.
 */
const users: Record<string, [credential: string, party: string]> = {
  // By an account, to a provider's endpoint with its key.
  'src/gateway/call/surface-call.ts': ['upstream.credential', 'this.payer.accountId'],
  'src/gateway/translation/upstream-stream.ts': ['upstream.credential', 'party'],
  'src/gateway/call/embed.ts': ['credential', 'this.payer.accountId'],
  'src/gateway/media/wire.ts': ['upstream.credential', 'options.party'],
  'src/gateway/surfaces/stored-responses.ts': ['credential', 'caller.payer.accountId'],
  // By the endpoint itself: its list of models, its test, its token.
  'src/modules/ai-gateway/lists/ask-provider.ts': ['upstream.credential', 'endpoint.id'],
  'src/gateway/providers/transport/vertex.ts': ['credential', "'access token'"],
  // By an account, to an address that it names, without a credential.
  'src/modules/web/fetch.ts': ["''", 'ctx.principal.accountId'],
  'src/modules/media/fetched.ts': ["''", 'ctx.principal.accountId'],
  'src/gateway/translation/fetched-media.ts': ["''", 'party'],
  // By an account, with a credential of the instance's or of an agent's.
  'src/modules/web/search.ts': ['name', 'ctx.principal.accountId'],
  'src/modules/chats/agent/tools/outside-tools.ts': ['credential', 'party'],
  // By what a workspace or a person set up, to one address.
  'src/modules/webhooks/sender.ts': ['endpoint.id', 'endpoint.workspace_id'],
  'src/modules/notifications/delivery/push.ts': ["'vapid'", 'subscription.id'],
  // By the instance, for everybody.
  'src/modules/accounts/identities/provider.ts': ["'identity provider'", "'identity provider'"],
  'src/modules/web/robots.ts': ["''", "'robots.txt'"],
  'src/modules/ai-gateway/catalogues/fetch-catalogue.ts': ["''", "'catalogue'"],
}

/** Functions that send; a file that imports one of them, or calls `outbound.dispatch`, is a user. */
const SENDS =
  /import \{[^}]*\b(?<!type )(?:retrieve|fetchThrough|outsideMcp|dispatch)\b[^}]*\} from '[^']*(?:http-client\/(?:[a-z-]+\/)?(?:retrieve|fetch|mcp)|providers\/dispatch)\.ts'|\b(?:outbound|outside)\.dispatch\(/
/** It only hands on what others send. */
const passing = ['src/gateway/providers/dispatch.ts']

test('every file that sends outbound requests declares its connection’s owner', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter(
    (file) =>
      !/\.(test|long)\.ts$|^src\/infra\/http-client\//.test(file) &&
      !passing.includes(file) &&
      SENDS.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(files.toSorted(), Object.keys(users).toSorted(), 'each user of the way out has its row above')
  for (const [file, [credential, party]] of Object.entries(users)) {
    const text = readFileSync(join(root, file), 'utf8')
    const said = (name: string): string[] =>
      [...text.matchAll(new RegExp(`[{,\\n] *${name}(?:: ([^,\\n}]+))?(?=[,\\n} ])`, 'g'))].map(
        ([, value]) => value?.trim() ?? name,
      )
    assert.ok(said('credential').includes(credential), `${file}: credential: ${said('credential').join(' | ')}`)
    assert.ok(said('party').includes(party), `${file}: party: ${said('party').join(' | ')}`)
  }
})
