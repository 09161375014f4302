/** A launchd agent (launchd.plist(5)). Not tested on a Mac. */
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { type Installed, nameFor } from './names.ts'
import { type ServiceManager, type ServiceParts, runOrFail, runCommand } from './service.ts'

const labelled = (name: string): string => (name === '' ? 'ukiyo.computer' : `ukiyo.computer.${name}`)
const AGENT = /^ukiyo\.computer(?:\.([a-z0-9-]+))?\.plist$/

/** The keeper needs no agent: it runs in a separate session that launchd doesn't stop. */
export const agentOf = (
  { daemon, environment }: ServiceParts,
  label: string = labelled(''),
): string => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${daemon.map((word) => `    <string>${escaped(word)}</string>`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${Object.entries(environment)
  .map(([name, value]) => `    ${entry(name, value)}`)
  .join('\n')}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ThrottleInterval</key><integer>10</integer>
  <key>ProcessType</key><string>Interactive</string>
  <key>AbandonProcessGroup</key><true/>
</dict>
</plist>
`

const entry = (name: string, value: string): string => `<key>${escaped(name)}</key><string>${escaped(value)}</string>`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export function launchd(state: string): ServiceManager {
  const folder = join(homedir(), 'Library/LaunchAgents')
  const fileOf = (label: string): string => join(folder, `${label}.plist`)
  const domain = `gui/${userInfo().uid}`
  const ours = entry('UK_CONFIG_DIR', state)

  async function installed(): Promise<Installed[]> {
    const files = await readdir(folder).catch(() => [])
    return Promise.all(
      files
        .filter((file) => AGENT.test(file))
        .map(async (file) => {
          const text = await readFile(join(folder, file), 'utf8').catch(() => '')
          return { name: AGENT.exec(file)![1] ?? '', folder: text.includes(ours) ? state : null }
        }),
    )
  }
  async function own(): Promise<string | null> {
    const service = (await installed()).find((one) => one.folder === state)
    return service ? labelled(service.name) : null
  }

  return {
    name: 'launchd',
    check: () => runOrFail('launchctl', 'print', domain),
    async install(computer, parts) {
      await mkdir(folder, { recursive: true })
      const label = labelled(nameFor(state, computer, await installed()))
      await writeFile(fileOf(label), agentOf(parts, label))
      // `bootout` fails if the agent isn't loaded, which is fine.
      await runCommand('launchctl', 'bootout', `${domain}/${label}`)
      await runOrFail('launchctl', 'bootstrap', domain, fileOf(label))
      return [`Installed the launchd agent ${label}. It starts when you log in.`]
    },
    async uninstall() {
      const label = await own()
      if (label === null) return false
      await runCommand('launchctl', 'bootout', `${domain}/${label}`)
      await rm(fileOf(label), { force: true })
      return true
    },
    async status() {
      const label = await own()
      if (label === null) return null
      const { ok, output } = await runCommand('launchctl', 'print', `${domain}/${label}`)
      return { name: label, state: ok ? (/state = (\S+)/.exec(output)?.[1] ?? 'loaded') : 'not loaded' }
    },
  }
}
