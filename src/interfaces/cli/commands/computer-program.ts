/**
 * The daemon program of a paired computer, bundled into one file by the server (`modules/computers/install/`): the `uk
 * computer` commands the machine needs, the keeper of terminals and commands, and the llama.cpp process.
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

const USAGE = `uk ${about.version}, the program for connected computers.

  uk computer pair       Connect this machine to your Ukiyo account
  uk computer run        Run the daemon in the foreground
  uk computer install    Install the daemon as a service
  uk computer uninstall  Remove the service
  uk computer status     Show the pairing, permissions and running processes

Options: --url <url> --name <name> --token-file -|<file> --allow exec,terminal,fs_read,fs_write,ports,inference,users
--root <folder> --no-update --detach --replace. For all other commands, install Ukiyo.
`

/** Checks whether this version can run here. Run by the current version before an update and by the install script. */
async function check(_words: readonly string[], { env }: Terminal): Promise<number> {
  return plainly(async () => {
    loadAddon(ownAddon)
    const folder = stateDir(env)
    const state = await readState(folder)
    if (state === null) return
    const keeper = await new KeeperClient({ folder: join(folder, 'keeper') }).find()
    if (keeper !== null && keeper.protocol !== KEEPER_PROTOCOL) {
      if (keeper.protocol > KEEPER_PROTOCOL)
        throw new DaemonFault(
          'failure',
          'This version is older than the running keeper process, which holds open terminals and commands.',
        )
      if (process.platform !== 'linux')
        throw new DaemonFault(
          'failure',
          'This version needs a newer keeper process. Only Linux can replace it while terminals are open.',
        )
    }
    await knock(state.server_url, state.credential).catch((error: Error) => {
      throw new Stop('unreachable', `Can't reach ${state.server_url}: ${error.message}.`)
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
    else throw new Stop('usage', `Unknown command.`, USAGE)
    return codeOf('ok')
  } catch (error) {
    const commandInfo = command && { words: ['computer', second], usage: USAGE }
    return explain(error, {
      terminal,
      json: words.includes('--json'),
      words: ['computer', second],
      special: commandInfo,
    })
  }
}

const [kind, ...words] = process.argv.slice(2)
if (kind === 'keeper') await runKeeper(words)
else if (kind === 'engine') await runEngine(words)
else process.exit(await main(process.argv.slice(2)))
