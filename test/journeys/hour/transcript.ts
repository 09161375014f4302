/** What was typed and said, with its times, as `docs/first-hour.md` shows it. */
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

const MOST_LINES = 16
const MOST_COLUMNS = 132

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
    .map((line) => (line.length > MOST_COLUMNS ? `${line.slice(0, MOST_COLUMNS)}…` : line))
  while (lines[0] === '') lines.shift()
  while (lines.at(-1) === '') lines.pop()
  if (lines.length <= MOST_LINES) return lines.join('\n')
  const half = MOST_LINES / 2
  return [...lines.slice(0, half), `… ${lines.length - MOST_LINES} lines …`, ...lines.slice(-half)].join('\n')
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

From a clone to a team at work, as two people type it: Ada, who runs the instance, and Bob, whom she invites. It took
${clock(last.at)} minutes on ${about.cores} cores on ${about.day}, most of them waiting for the installation. This page is written by
\`npm run test:long -- first-hour\`, which types all of it into terminals and holds each answer against what it should be.

What is not as it would be with you: the vendor is a double of Anthropic's API on the same machine, which
\`UK_UPSTREAM_ALLOW\` lets providers reach; \`claude.mjs\` is ten lines around Anthropic's own SDK, set up by the same two
variables as Claude Code; the certificate is made on the spot. Addresses, ports and paths are written here as they would be on a
server of yours, and secrets and passwords are left out.

| done | after |
|---|--:|
${rows.join('\n')}

${parts.join('\n')}`
}
