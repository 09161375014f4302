/**
 * The program of a paired computer, as a server gives it out in one bundled file (`modules/computers/install/`): what of `uk`
 * the machine itself needs, the keeper of terminals and commands, and llama.cpp's own process.
 */
import { join } from 'node:path'
import { loadAddon } from '#daemon/keeper/processes/addon.ts'
import { KeeperClient } from '#daemon/keeper/client.ts'
import { KEEPER_PROTOCOL, runKeeper } from '#daemon/keeper/run.ts'
import { runEngine } from '#daemon/engines/child.ts'
import { knock } from '#daemon/link.ts'
import { ownAddon } from '#daemon/program/own.ts'
import { DaemonFault, readState, stateDir } from '#daemon/state.ts'
import about from '../../../../package.json' with { type: 'json' }
import { Stop, codeOf } from '../exit.ts'
import { explain } from '../failure.ts'
import { type Terminal, createTerminal } from '../terminal.ts'
import { pair, plainly, run } from './computer.ts'
import { install, status, uninstall } from './computer-service.ts'

type Command = (words: readonly string[], terminal: Terminal) => Promise<number>
const commands: Readonly<Record<string, Command>> = { pair, run, install, uninstall, status, check }

const USAGE = `uk ${about.version}, the part for the machine of a computer:

  uk computer pair       Make this machine one of your computers
  uk computer run        Connect it to its server, until it is stopped
  uk computer install    Make that a service of yours
  uk computer uninstall  Take the service away again
  uk computer status     Say whose computer this is, what it allows, and what runs

Options: --url <url> --name <name> --token-file -|<file> --allow exec,terminal,fs_read,fs_write,ports,inference,users
--root <folder> --no-update --detach --replace. All else that \`uk\` does comes with a clone of Ukiyo.
`

/** Whether this version could run here: asked of it by the one that runs, and by the script that installs it. */
async function check(_words: readonly string[], { env }: Terminal): Promise<number> {
  return plainly(async () => {
    loadAddon(ownAddon)
    const folder = stateDir(env)
    const state = await readState(folder)
    if (state === null) return
    const keeper = await new KeeperClient({ folder: join(folder, 'keeper') }).find()
    if (keeper !== null && keeper.protocol !== KEEPER_PROTOCOL) {
      if (keeper.protocol > KEEPER_PROTOCOL)
        throw new DaemonFault('failure', 'It is older than the keeper that holds terminals and commands here.')
      if (process.platform !== 'linux')
        throw new DaemonFault('failure', 'It needs another keeper, which only Linux replaces under open terminals.')
    }
    await knock(state.server_url, state.credential).catch((error: Error) => {
      throw new Stop('unreachable', `It does not reach ${state.server_url}: ${error.message}.`)
    })
  })
}

async function main(given: readonly string[]): Promise<number> {
  const [first, second = '', ...words] = given
  const terminal = createTerminal(process)
  const command = first === 'computer' && Object.hasOwn(commands, second) ? commands[second] : undefined
  const asksHelp =
    first === undefined ||
    first === 'help' ||
    given.includes('--help') ||
    given.includes('-h') ||
    (first === 'computer' && second === '')
  try {
    if (command !== undefined && !asksHelp) return await command(words, terminal)
    if (first === '--version') await terminal.out(`uk ${about.version}\n`)
    else if (asksHelp) await terminal.out(USAGE)
    else throw new Stop('usage', `This part of \`uk\` has no such command.`, USAGE)
    return codeOf('ok')
  } catch (error) {
    const asked = command && { words: ['computer', second], usage: USAGE }
    return explain(error, { terminal, json: words.includes('--json'), words: ['computer', second], special: asked })
  }
}

const [kind, ...words] = process.argv.slice(2)
if (kind === 'keeper') await runKeeper(words)
else if (kind === 'engine') await runEngine(words)
else process.exit(await main(process.argv.slice(2)))
