import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { DaemonFault } from '../state.ts'
import { type Installed, nameFor } from './names.ts'
import { type ServiceManager, type ServiceParts, WITHOUT, runOrFail, runCommand } from './service.ts'

interface Units {
  daemon: string
  keeper: string
}

const unitsNamed = (name: string): Units => {
  const ending = name === '' ? '' : `-${name}`
  return { daemon: `ukiyo-computer${ending}.service`, keeper: `ukiyo-keeper${ending}.service` }
}

const UNIT = /^ukiyo-(?:computer|keeper)(?:-([a-z0-9-]+))?\.service$/

/** Starts the keeper's unit, so the keeper is never a child of the daemon. */
export const startKeeperUnit = (unit: string): string[] => ['systemctl', '--user', 'start', '--no-block', unit]

/**
 * The units of a user (systemd.service(5)). The keeper has a separate unit: stopping the daemon's control group
 * stops no terminal or command. Exit code 4 (computer deleted) prevents a restart.
 */
export const unitsOf = (
  { server, daemon, keeper, environment }: ServiceParts,
  names: Units = unitsNamed(''),
): Record<string, string> => {
  const surroundings = Object.entries(environment)
    .map(([name, value]) => `Environment=${quoted(`${name}=${value}`, false)}\n`)
    .join('')
  return {
    [names.daemon]: `[Unit]
Description=Ukiyo: this machine as a computer of ${server.replaceAll('%', '%%')}
Wants=${names.keeper}
After=${names.keeper}
StartLimitIntervalSec=0

[Service]
ExecStart=${line([...daemon, '--keeper-unit', names.keeper])}
${surroundings}Restart=always
RestartSec=2
RestartPreventExitStatus=2 4
OOMPolicy=continue

[Install]
WantedBy=default.target
`,
    [names.keeper]: `[Unit]
Description=Ukiyo: terminals and commands of this machine, held through restarts of the daemon
StartLimitIntervalSec=0

[Service]
ExecStart=${line([...keeper, '--idle-ms', '0'])}
${surroundings}Restart=on-failure
RestartSec=1
KillMode=mixed
TimeoutStopSec=10
Delegate=yes
OOMPolicy=continue
`,
  }
}

function line(words: readonly string[]): string {
  if (/["'\\]/.test(words[0]!))
    throw new DaemonFault(
      'usage',
      `systemd can't start a program with quotes or backslashes in its path: ${words[0]}`,
      WITHOUT,
    )
  return words.map((word) => quoted(word, true)).join(' ')
}

/** systemd.syntax(7): `%` starts a specifier and, in a command line, `$` a variable. */
function quoted(word: string, command: boolean): string {
  if (/\p{Cc}/u.test(word))
    throw new DaemonFault(
      'usage',
      `Can't create a service with ${JSON.stringify(word)}: it contains control characters.`,
    )
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${command ? escaped.replaceAll('$', '$$$$') : escaped}"`
}

/** `state`: the daemon's state folder. */
export function systemd(env: Readonly<Record<string, string | undefined>>, state: string): ServiceManager {
  const folder = join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'systemd/user')
  const ours = `Environment=${quoted(`UK_CONFIG_DIR=${state}`, false)}\n`

  async function installed(): Promise<Installed[]> {
    const files = await readdir(folder).catch(() => [])
    return Promise.all(
      files
        .filter((file) => UNIT.test(file))
        .map(async (file) => {
          const text = await readFile(join(folder, file), 'utf8').catch(() => '')
          return { name: UNIT.exec(file)![1] ?? '', folder: text.includes(ours) ? state : null }
        }),
    )
  }
  async function own(): Promise<Units | null> {
    const service = (await installed()).find((one) => one.folder === state)
    return service ? unitsNamed(service.name) : null
  }

  return {
    name: 'systemd',

    async check() {
      const { ok, output } = await runCommand('systemctl', '--user', 'show-environment')
      if (!ok) throw new DaemonFault('failure', `systemd isn't available for this user: ${output}.`, WITHOUT)
    },

    async install(computer, parts) {
      await mkdir(folder, { recursive: true })
      const names = unitsNamed(nameFor(state, computer, await installed()))
      for (const [name, text] of Object.entries(unitsOf(parts, names))) await writeFile(join(folder, name), text)
      await runOrFail('systemctl', '--user', 'daemon-reload')
      await runOrFail('systemctl', '--user', 'enable', names.daemon)
      await runOrFail('systemctl', '--user', 'restart', names.daemon)
      const lingers = await runCommand('loginctl', 'enable-linger')
      return [
        `Installed the service ${names.daemon}. Logs: \`journalctl --user -u ${names.daemon}\``,
        lingers.ok
          ? 'It starts with the machine and keeps running when you log out.'
          : `It starts when you log in and stops when you log out, since \`loginctl enable-linger\` failed (${lingers.output}).`,
      ]
    },

    async uninstall() {
      const names = await own()
      if (names === null) return false
      await runOrFail('systemctl', '--user', 'disable', '--now', names.daemon)
      await runOrFail('systemctl', '--user', 'stop', names.keeper)
      for (const name of Object.values(names)) await rm(join(folder, name), { force: true })
      await runOrFail('systemctl', '--user', 'daemon-reload')
      return true
    },

    async status() {
      const names = await own()
      return (
        names && {
          name: names.daemon,
          state: (await runCommand('systemctl', '--user', 'is-active', names.daemon)).output,
        }
      )
    },
  }
}
