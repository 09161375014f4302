/** An agent of launchd (launchd.plist(5)). Written after its documentation: no Mac has run it yet. */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { type ServiceManager, type ServiceParts, must, tell } from './service.ts'

const LABEL = 'ukiyo.computer'

/** The keeper is a session of its own that launchd does not end with the agent: it needs none. */
export const agentOf = ({ daemon, environment }: ServiceParts): string => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${daemon.map((word) => `    <string>${escaped(word)}</string>`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${Object.entries(environment)
  .map(([name, value]) => `    <key>${escaped(name)}</key><string>${escaped(value)}</string>`)
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

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export function launchd(): ServiceManager {
  const folder = join(homedir(), 'Library/LaunchAgents')
  const file = join(folder, `${LABEL}.plist`)
  const domain = `gui/${userInfo().uid}`
  return {
    name: 'launchd',
    check: () => must('launchctl', 'print', domain),
    async install(parts) {
      await mkdir(folder, { recursive: true })
      await writeFile(file, agentOf(parts))
      // Where it is there already; else there is nothing to take away.
      await tell('launchctl', 'bootout', `${domain}/${LABEL}`)
      await must('launchctl', 'bootstrap', domain, file)
      return [`It is the agent ${LABEL} of launchd, and begins when you log in.`]
    },
    async uninstall() {
      if (!existsSync(file)) return false
      await tell('launchctl', 'bootout', `${domain}/${LABEL}`)
      await rm(file, { force: true })
      return true
    },
    async status() {
      if (!existsSync(file)) return null
      const { ok, said } = await tell('launchctl', 'print', `${domain}/${LABEL}`)
      return ok ? (/state = (\S+)/.exec(said)?.[1] ?? 'loaded') : 'not loaded'
    },
  }
}
