import { readFile } from 'node:fs/promises'
import { createCall } from '../../../client.ts'
import { Stop } from '../../exit.ts'
import type { Globals } from '../../globals.ts'
import { readText } from '../../input/input.ts'
import { askHidden } from '../../input/prompt.ts'
import { send } from '../../server/send.ts'
import type { Terminal } from '../../terminal.ts'

interface TokenOptions {
  tokenFile: string | undefined
  workspaceId: string | undefined
  globals: Globals
}

/** A pairing token: from the environment or a file, else created with the key, else typed. */
export const pairToken = async (
  origin: string,
  key: string | undefined,
  options: TokenOptions,
  terminal: Terminal,
): Promise<string> => (await readToken(options, terminal)) ?? (await createToken(origin, key, options, terminal))

/** Never from an argument: other users of the machine can read those. */
async function readToken({ tokenFile }: TokenOptions, { env }: Terminal): Promise<string | null> {
  if (env.UK_PAIR_TOKEN) return env.UK_PAIR_TOKEN
  if (tokenFile === undefined) return null
  const text = tokenFile === '-' ? await readText('-') : await readFile(tokenFile, 'utf8').catch(unreadable)
  return text.trim()
}

/** Doesn't repeat the option's value: a user may have passed the token itself. */
function unreadable(error: NodeJS.ErrnoException): never {
  throw new Stop(
    'usage',
    `Can't read the file in --token-file (${error.code ?? error.name}).`,
    'Pass the path of a file that contains the token, or - for stdin. To pass the token itself, set UK_PAIR_TOKEN.',
  )
}

async function createToken(
  origin: string,
  key: string | undefined,
  options: TokenOptions,
  terminal: Terminal,
): Promise<string> {
  if (key === undefined) return (await askHidden('Token or code', '--token-file', options.globals, terminal)).trim()
  const { computerPairings } = await import('#modules/computers/contract.ts')
  const answer = await createCall({ origin, key, send })(computerPairings.endpoints.create, {
    ...(options.workspaceId !== undefined && { workspace_id: options.workspaceId }),
  })
  return (JSON.parse(await answer.text()) as { data: { token: string } }).data.token
}
