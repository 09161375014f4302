/** Who may import whom (docs/architecture.md). A room is the first folder under src, or the file itself; and the app. */
export const roomOf = (path: string): string => (path.startsWith('web/') ? 'web' : path.split('/')[1]!)

const areaOf = (path: string): string | null => /^src\/areas\/([^/]+)\//.exec(path)?.[1] ?? null
const fileOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
/** `contract.ts`, and the parts that a long one is made of. */
const isContract = (path: string): boolean => /^contract(-[a-z]+)?\.ts$/.test(fileOf(path))

/** Areas that call models, and so may use the gateway. */
const CALLERS = new Set(['inference', 'chats', 'models', 'ai-gateway'])

export function allowed(from: string, to: string): boolean {
  const room = roomOf(from)
  const other = roomOf(to)
  if (room === other && areaOf(from) === areaOf(to)) return !isContract(from) || isContract(to) || room !== 'areas'
  // The composition root and the programs it is started by.
  if (['app.ts', 'main.ts', 'health.ts', 'reset-password.ts'].includes(room)) return true
  switch (room) {
    case 'kernel':
      return false
    case 'config.ts':
      return other === 'kernel'
    case 'engine':
      return other === 'kernel' || other === 'config.ts'
    case 'gateway':
      return ['kernel', 'engine', 'config.ts'].includes(other)
    case 'line':
      return ['kernel', 'engine', 'config.ts'].includes(other)
    case 'areas':
      return areaMay(from, to, other)
    case 'faces':
      return facesMay(from, to, other)
    case 'wire':
      return other === 'kernel'
    case 'daemon':
    case 'web':
      return ['kernel', 'wire'].includes(other) || to === 'src/faces/client.ts' || to === 'src/areas/contracts.ts'
    default:
      return false
  }
}

function areaMay(from: string, to: string, other: string): boolean {
  // The two lists of everything stand between the areas.
  if (areaOf(from) === null) return other === 'areas' || other === 'kernel' || other === 'engine'
  if (isContract(from)) return other === 'kernel' || (other === 'areas' && fileOf(to) === 'contract.ts')
  if (other === 'areas') return ['contract.ts', 'service.ts'].includes(fileOf(to))
  if (other === 'gateway') return CALLERS.has(areaOf(from)!)
  return ['kernel', 'engine', 'config.ts'].includes(other)
}

function facesMay(from: string, to: string, other: string): boolean {
  // `uk config` explains the settings, and `uk` reads contracts one by one to start fast.
  if (from.startsWith('src/faces/cli/') && (other === 'config.ts' || other === 'daemon')) return true
  // `uk routes` says what the surfaces take.
  if (from === 'src/faces/routes.ts' && to.startsWith('src/gateway/surfaces/')) return true
  return other === 'kernel' || to === 'src/areas/contracts.ts' || (other === 'areas' && fileOf(to) === 'contract.ts')
}

/** A Mermaid drawing of the rooms: an arrow for every import that there is. */
export function diagram(edges: readonly (readonly [string, string])[]): string {
  const name = (room: string): string => room.replace('.ts', '')
  const arrows = new Set(
    edges.filter(([from, to]) => from !== to).map(([from, to]) => `  ${name(from)} --> ${name(to)}`),
  )
  return `\`\`\`mermaid\nflowchart LR\n${[...arrows].toSorted().join('\n')}\n\`\`\`\n`
}
