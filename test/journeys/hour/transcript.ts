/** Formats the recorded session as `docs/first-hour.md`. */
export interface Line {
  who: string
  command: string
  output: string
  /** Since the beginning, when it had ended. */
  at: number
  took: number
}

export interface Chapter {
  title: string
  words: string
  lines: Line[]
}

const MAX_LINES = 16
const MAX_COLUMNS = 132

/** The parts of an output that are other on every machine or nobody else's business, and their names here. */
export type Names = readonly (readonly [was: string | RegExp, now: string])[]

// oxlint-disable-next-line no-control-regex -- what a terminal is told
const ESCAPES = /\x1b\][^\x07]*\x07|\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]/g
const SECRETS: Names = [
  [/\buk_[0-9A-Za-z]{49}\b/g, 'uk_…'],
  [/#token=[\w-]+/g, '#token=…'],
  [/^(token +)\S+$/gm, '$1…'],
  [/\b(setup token: )\S+/g, '$1…'],
]

/** The lines that a person would see: what was written over by a carriage return is gone, and long ones are cut. */
export function readable(output: string, names: Names): string {
  let text = output.replaceAll(ESCAPES, '').replaceAll('\r\n', '\n')
  for (const [was, now] of [...names, ...SECRETS]) text = text.replaceAll(was, now)
  const lines = text
    .split('\n')
    .map((line) => line.split('\r').at(-1)!.trimEnd())
    .map((line) => (line.length > MAX_COLUMNS ? `${line.slice(0, MAX_COLUMNS)}…` : line))
  while (lines[0] === '') lines.shift()
  while (lines.at(-1) === '') lines.pop()
  if (lines.length <= MAX_LINES) return lines.join('\n')
  const half = MAX_LINES / 2
  return [...lines.slice(0, half), `… ${lines.length - MAX_LINES} lines …`, ...lines.slice(-half)].join('\n')
}

const clock = (ms: number): string => {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

export function pageOf(chapters: readonly Chapter[], about: { day: string; cores: number }): string {
  const last = chapters.at(-1)!.lines.at(-1)!
  const rows = chapters.map(({ title, lines }) => `| ${title} | ${clock(lines.at(-1)!.at)} |`)
  const parts = chapters.map(({ title, words, lines }) => {
    const shown = lines.map(
      ({ who, command, output, at, took }) =>
        `# ${clock(at)}, took ${(took / 1000).toFixed(1)} s\n${who}$ ${command}${output === '' ? '' : `\n${output}`}`,
    )
    return `## ${title}\n\n${words}\n\n\`\`\`console\n${shown.join('\n\n')}\n\`\`\`\n`
  })
  return `# The first hour

A recorded session, from \`git clone\` to a team with budgets, HTTPS and backups. Ada runs the server; Bob is a teammate she invites.
The session took ${clock(last.at)} minutes on ${about.cores} cores on ${about.day}, most of it for the installation.

\`npm run test:long -- first-hour\` types these commands into real terminals, checks the output, and writes this page. Three things
differ from your setup:

- The provider is a test server with Anthropic's API on the same machine, which \`UK_UPSTREAM_ALLOW\` permits.
- \`claude.mjs\` is a ten-line script with Anthropic's SDK. It uses the same variables as Claude Code.
- The certificate is self-signed.

Addresses, ports and paths are replaced with typical ones. Secrets and passwords are omitted.

| step | done after |
|---|--:|
${rows.join('\n')}

${parts.join('\n')}`
}
