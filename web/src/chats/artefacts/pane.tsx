import { Tabs } from '@base-ui/react/tabs'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { IconButton } from '../../ui/button.tsx'
import { CodeBlock, OpenBeside } from '../../ui/code/code-block.tsx'
import { Copy } from '../../ui/copy.tsx'
import { visible } from '../../ui/text/visible.ts'
import { Markdown } from '../../ui/markdown/markdown.tsx'
import { readCsv } from './csv.ts'
import { Diagram } from './diagram/diagram.tsx'
import { Frame } from './frame.tsx'
import { type Artefact, fileNameOf, pageOf } from './kinds.ts'

const titles = {
  html: 'Page',
  svg: 'Drawing',
  diagram: 'Diagram',
  markdown: 'Document',
  table: 'Table',
  code: 'Code',
} as const

/** An artifact next to the chat; on small screens in its place. */
export function ArtefactPane({ artefact, onClose }: { artefact: Artefact; onClose: () => void }) {
  const { kind, text, language } = artefact
  const [wide, setWide] = useState(false)
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    box.current?.querySelector<HTMLElement>('[role=tab], button')?.focus({ preventScroll: true })
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
    }
  }, [artefact])
  const title = titles[kind]
  return (
    <aside
      ref={box}
      aria-label={`Artifact: ${title}`}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.preventDefault()
        onClose()
      }}
      className={`z-30 flex min-w-0 flex-col border-l border-line bg-paper max-lg:fixed max-lg:inset-0 ${wide ? 'fixed inset-0' : 'lg:w-[min(50%,56rem)]'}`}
    >
      {/* Remount for each artifact: view and scroll position start over. */}
      <OpenBeside value={null}>
        <Tabs.Root defaultValue={kind === 'code' ? 'source' : 'shown'} className="flex min-h-0 flex-1 flex-col">
          <header className="flex min-h-14 items-center gap-1 border-b border-line px-3 py-2">
            <h2 className="mr-auto truncate font-serif text-lg">{title}</h2>
            {kind !== 'code' && (
              <Tabs.List aria-label="View" className="flex">
                <Tab value="shown">Preview</Tab>
                <Tab value="source">Code</Tab>
              </Tabs.List>
            )}
            <IconButton label="Download" icon="down" onClick={() => download(artefact)} />
            <IconButton
              label={wide ? 'Show next to chat' : 'Full window'}
              icon="expand"
              className="max-lg:hidden"
              aria-pressed={wide}
              onClick={() => setWide(!wide)}
            />
            <IconButton label="Close (Esc)" icon="close" onClick={onClose} />
          </header>
          {kind !== 'code' && (
            <Tabs.Panel value="shown" className="min-h-0 flex-1 overflow-auto" tabIndex={-1}>
              <Shown artefact={artefact} title={title} />
            </Tabs.Panel>
          )}
          <Tabs.Panel value="source" className="min-h-0 flex-1 overflow-auto p-4" tabIndex={-1}>
            <CodeBlock text={text} language={language || (kind === 'html' || kind === 'svg' ? kind : '')} />
          </Tabs.Panel>
        </Tabs.Root>
      </OpenBeside>
    </aside>
  )
}

const Tab = ({ value, children }: { value: string; children: ReactNode }) => (
  <Tabs.Tab
    value={value}
    className="border-b-2 border-transparent px-2.5 py-1.5 text-sm text-quiet hover:text-ink data-active:border-seal data-active:text-ink"
  >
    {children}
  </Tabs.Tab>
)

function Shown({ artefact, title }: { artefact: Artefact; title: string }) {
  switch (artefact.kind) {
    case 'html':
    case 'svg':
      return <Frame page={pageOf(artefact)} title={`${title}, created by a model`} />
    case 'diagram':
      return <Diagram key={artefact.text} source={artefact.text} title={`${title}, created by a model`} />
    case 'markdown':
      return (
        <div className="mx-auto max-w-[46rem] px-5 py-5 text-[1.0625rem] leading-[1.65]">
          <Markdown text={artefact.text} />
        </div>
      )
    case 'table':
      return <TableView text={artefact.text} />
    case 'code':
      return null
  }
}

function TableView({ text }: { text: string }) {
  const {
    rows: [head = [], ...rows],
    isCut,
  } = readCsv(text)
  return (
    <div className="prose p-4">
      <div className="mb-3 flex items-center gap-3 text-sm text-quiet">
        <p className="figures mr-auto">
          {isCut && 'First '}
          {rows.length} rows
        </p>
        <Copy text={text} look="quiet" />
      </div>
      <div className="table" role="region" aria-label="Table" tabIndex={0}>
        <table className="figures">
          <thead>
            <tr>
              {head.map((cell, at) => (
                <th key={at} scope="col" className="text-left">
                  {visible(cell)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((cells, at) => (
              <tr key={at}>
                {cells.map((cell, column) => (
                  <td key={column} className={/^-?[\d.,]+%?$/.test(cell) ? 'text-right' : ''}>
                    {visible(cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

/** Downloads an artifact with a type that browsers don't open as a page of this server. */
function download(artefact: Artefact): void {
  const address = URL.createObjectURL(new Blob([artefact.text], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = address
  link.download = fileNameOf(artefact)
  link.click()
  URL.revokeObjectURL(address)
}
