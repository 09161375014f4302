/** Labels by kind; other kinds show their name. */
export const kinds: readonly (readonly [kind: string, words: string])[] = [
  ['inference.text', 'Model response'],
  ['inference.images', 'Images'],
  ['inference.videos', 'Video'],
  ['inference.speech', 'Speech'],
  ['inference.transcriptions', 'Transcript'],
  ['chats.send', 'Chat response'],
  ['computers.exec', 'Command on a computer'],
  ['computers.create', 'New cloud computer'],
  ['computers.snapshot', 'Snapshot of a computer'],
  ['computers.local_inference', 'Local model'],
]
export const saysKind = (kind: string): string => kinds.find(([one]) => one === kind)?.[1] ?? kind
