import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { DaemonFault } from '../state.ts'
import { type ServiceManager, type ServiceParts, WITHOUT, must, tell } from './service.ts'

export const DAEMON_UNIT = 'ukiyo-computer.service'
export const KEEPER_UNIT = 'ukiyo-keeper.service'

/** The keeper's unit is begun by this program where there is none, so that it is never a child of the daemon's. */
export const startKeeperUnit = (unit: string): string[] => ['systemctl', '--user', 'start', '--no-block', unit]

/**
 * The units of a user (systemd.service(5)). The keeper has one of its own: whatever ends the daemon's, with all processes in
 * its control group, ends no terminal and no command. What its server knows no more (exit code 4) is not begun again.
 */
export const unitsOf = ({ server, daemon, keeper, environment }: ServiceParts): Record<string, string> => {
  const surroundings = Object.entries(environment)
    .map(([name, value]) => `Environment=${quoted(`${name}=${value}`, false)}\n`)
    .join('')
  return {
    [DAEMON_UNIT]: `[Unit]
Description=Ukiyo: this machine as a computer of ${server.replaceAll('%', '%%')}
Wants=${KEEPER_UNIT}
After=${KEEPER_UNIT}
StartLimitIntervalSec=0

[Service]
ExecStart=${line([...daemon, '--keeper-unit', KEEPER_UNIT])}
${surroundings}Restart=always
RestartSec=2
RestartPreventExitStatus=2 4
OOMPolicy=continue

[Install]
WantedBy=default.target
`,
    [KEEPER_UNIT]: `[Unit]
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
      `systemd starts no program whose path has quotes or backslashes: ${words[0]}`,
      WITHOUT,
    )
  return words.map((word) => quoted(word, true)).join(' ')
}

/** As systemd.syntax(7) has it: `%` begins a specifier, and in a command line `$` a variable. */
function quoted(word: string, command: boolean): string {
  if (/\p{Cc}/u.test(word))
    throw new DaemonFault('usage', `A service cannot be made of ${JSON.stringify(word)}: it has control characters.`)
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${command ? escaped.replaceAll('$', '$$$$') : escaped}"`
}

export function systemd(env: Readonly<Record<string, string | undefined>>): ServiceManager {
  const folder = join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'systemd/user')
  const isInstalled = (): boolean => existsSync(join(folder, DAEMON_UNIT))
  return {
    name: 'systemd',

    async check() {
      const { ok, said } = await tell('systemctl', '--user', 'show-environment')
      if (!ok) throw new DaemonFault('failure', `systemd does not answer this user here: ${said}.`, WITHOUT)
    },

    async install(parts) {
      await mkdir(folder, { recursive: true })
      for (const [name, text] of Object.entries(unitsOf(parts))) await writeFile(join(folder, name), text)
      await must('systemctl', '--user', 'daemon-reload')
      await must('systemctl', '--user', 'enable', DAEMON_UNIT)
      await must('systemctl', '--user', 'restart', DAEMON_UNIT)
      const lingers = await tell('loginctl', 'enable-linger')
      return [
        `It is the service ${DAEMON_UNIT}; what it says: \`journalctl --user -u ${DAEMON_UNIT}\`.`,
        lingers.ok
          ? 'It begins when the machine starts, and stays when you log out.'
          : `It begins when you log in and ends when you log out: \`loginctl enable-linger\` was refused (${lingers.said}).`,
      ]
    },

    async uninstall() {
      if (!isInstalled()) return false
      await must('systemctl', '--user', 'disable', '--now', DAEMON_UNIT)
      await must('systemctl', '--user', 'stop', KEEPER_UNIT)
      for (const name of [DAEMON_UNIT, KEEPER_UNIT]) await rm(join(folder, name), { force: true })
      await must('systemctl', '--user', 'daemon-reload')
      return true
    },

    status: async () => (isInstalled() ? (await tell('systemctl', '--user', 'is-active', DAEMON_UNIT)).said : null),
  }
}
