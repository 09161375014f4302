const stop = new Set(
  'a all am an and any are as at be can do does for from how i in is it its my not of on or our please that the this to want what which who with'.split(
    ' ',
  ),
)

/** Stems: `Sending files` becomes `send`, `fil`. Applied to texts and queries alike, so a stem need not be a word. */
export function stem(word: string): string {
  let root = word
  for (const [end, instead] of [
    ['ies', 'y'],
    ['ing', ''],
    ['ed', ''],
    ['s', ''],
  ] as const) {
    if (!root.endsWith(end) || root.endsWith('ss') || root.length - end.length < 3) continue
    root = root.slice(0, -end.length) + instead
  }
  if (root.length > 3 && root.endsWith('e')) root = root.slice(0, -1)
  return root.length > 3 && root.at(-1) === root.at(-2) && !root.endsWith('ss') ? root.slice(0, -1) : root
}

/** Stems of a text, with camelCase and snake_case split. */
export const stemsOf = (text: string): string[] =>
  text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    // "re-open" must not match "open".
    .replaceAll(/\bre-(?=[a-z])/g, 're')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !stop.has(word))
    .map(stem)

const groups = [
  'create make new add build open',
  'update change edit modify rename patch set adjust',
  'delete remove trash destroy erase drop',
  'list show enumerate browse overview',
  'get read show view retrieve inspect look fetch',
  'search find query grep lookup',
  'send post ask prompt talk reply message write',
  'run execute exec command shell terminal bash',
  'automation schedule cron recurring timer job webhook',
  'file document drive upload storage',
  'folder directory',
  'computer machine vm sandbox device host laptop',
  'member people person user team colleague',
  'share permission access grant',
  'invite invitation',
  'usage cost spend spent bill money credit budget',
  'model llm',
  'inference generate complete completion',
  'chat conversation thread dialog',
  'agent assistant bot persona',
  'copy duplicate clone fork',
  'stop cancel abort interrupt kill end',
  'restore recover undelete untrash',
  'image picture photo draw',
  'speech voice audio speak tts',
  'transcribe transcription dictation',
  'notification notify alert inform',
  'operation background progress wait await',
  'web internet website url page browse',
  'workspace project',
  'settings preference configuration option theme language locale',
  'limit quota rate',
  'me myself profile account whoami',
]

const alike = new Map<string, Set<string>>()
for (const group of groups) {
  const stems = stemsOf(group)
  for (const one of stems) for (const other of stems) alike.set(one, (alike.get(one) ?? new Set()).add(other))
}

export const synonymsOf = (stemmed: string): string[] =>
  [...(alike.get(stemmed) ?? [])].filter((other) => other !== stemmed)
