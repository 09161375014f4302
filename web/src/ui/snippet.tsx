import { Tabs } from '@base-ui/react/tabs'
import { Copy } from './copy.tsx'

export interface Example {
  name: string
  code: string
}

export function Snippets({ examples, label }: { examples: readonly Example[]; label: string }) {
  return (
    <Tabs.Root defaultValue={examples[0]!.name} className="border border-line bg-sheet">
      <Tabs.List aria-label={label} className="flex overflow-x-auto border-b border-line px-1">
        {examples.map(({ name }) => (
          <Tabs.Tab
            key={name}
            value={name}
            className="-mb-px border-b-2 border-transparent px-3 py-2 text-sm whitespace-nowrap text-quiet hover:text-ink data-active:border-seal data-active:text-ink"
          >
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {examples.map(({ name, code }) => (
        <Tabs.Panel key={name} value={name} className="relative" tabIndex={-1}>
          <pre
            tabIndex={0}
            aria-label={`${name} example`}
            className="overflow-x-auto px-4 py-3 font-mono text-[0.8125rem] leading-relaxed"
          >
            {code}
          </pre>
          <div className="flex justify-end border-t border-line px-2 py-1.5">
            <Copy text={code} label="Copy code" look="quiet" />
          </div>
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  )
}
