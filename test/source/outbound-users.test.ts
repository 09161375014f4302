import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

/**
 * Every sender of outbound requests, with the credential and the response's reader (party) that select its connection.
 * New senders must decide both: two that share a connection can read each other's responses if a server sends one too
 * many.
 */
const users: Record<string, [credential: string, party: string]> = {
  // An account, to a provider endpoint with its key.
  'src/gateway/call/surface-call.ts': ['upstream.credential', 'payer.accountId'],
  'src/gateway/translation/upstream-stream.ts': ['upstream.credential', 'party'],
  'src/gateway/call/embed.ts': ['credential', 'this.payer.accountId'],
  'src/gateway/media/wire.ts': ['upstream.credential', 'this.#options.party'],
  'src/gateway/surfaces/stored-responses.ts': ['credential', 'caller.payer.accountId'],
  // The endpoint: its model list, test, or token.
  'src/modules/ai-gateway/lists/ask-provider.ts': ['upstream.credential', 'endpoint.id'],
  'src/gateway/providers/transport/vertex.ts': ['credential', "'access token'"],
  // An account, to an address it chooses, without a credential.
  'src/modules/web/fetch.ts': ["''", 'ctx.principal.accountId'],
  'src/modules/media/fetch-bytes.ts': ["''", 'ctx.principal.accountId'],
  'src/gateway/translation/fetched-media.ts': ["''", 'party'],
  // An account, with the instance's or an agent's credential.
  'src/modules/web/search.ts': ['name', 'ctx.principal.accountId'],
  'src/modules/chats/agent/tools/outside-tools.ts': ['credential', 'party'],
  // A configured integration of a workspace or person, to one address.
  'src/modules/webhooks/sender.ts': ['endpoint.id', 'endpoint.workspace_id'],
  'src/modules/notifications/delivery/push.ts': ["'vapid'", 'subscription.id'],
  // The instance, for everyone.
  'src/modules/accounts/identities/provider.ts': ["'identity provider'", "'identity provider'"],
  'src/modules/web/robots.ts': ["''", "'robots.txt'"],
  'src/modules/ai-gateway/catalogues/fetch-catalogue.ts': ["''", "'catalogue'"],
}

/** Functions that send; files that import one or call `outbound.dispatch` are users. */
const SENDS =
  /import \{[^}]*\b(?<!type )(?:retrieve|fetchThrough|outsideMcp|dispatch)\b[^}]*\} from '[^']*(?:http-client\/(?:retrieve|fetch)|outbound\/mcp-client|providers\/dispatch)\.ts'|\b(?:outbound|outside)\.dispatch\(/
/** Only forwards others' requests. */
const passing = ['src/gateway/providers/dispatch.ts']

test('every file that sends outbound requests declares its connection’s owner', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter(
    (file) =>
      !/\.(test|long)\.ts$|^src\/infra\/outbound\//.test(file) &&
      !passing.includes(file) &&
      SENDS.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(files.toSorted(), Object.keys(users).toSorted(), 'each user of the way out has its row above')
  for (const [file, [credential, party]] of Object.entries(users)) {
    const text = readFileSync(join(root, file), 'utf8')
    const valuesOf = (name: string): string[] =>
      [...text.matchAll(new RegExp(`[{,\\n] *${name}(?:: ([^,\\n}]+))?(?=[,\\n} ])`, 'g'))].map(
        ([, value]) => value?.trim() ?? name,
      )
    assert.ok(valuesOf('credential').includes(credential), `${file}: credential: ${valuesOf('credential').join(' | ')}`)
    assert.ok(valuesOf('party').includes(party), `${file}: party: ${valuesOf('party').join(' | ')}`)
  }
})
