import { useQuery } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'
import { number, plural, usd } from '../../ui/text/format.ts'
import { Name } from '../../ui/text/words.tsx'

export function CostDialog({
  chatId,
  open,
  onOpen,
}: {
  chatId: string
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const { data, error, refetch } = useQuery({
    queryKey: ['chat-cost', chatId],
    queryFn: () => uk.chats.cost({ id: chatId }),
    enabled: open,
    staleTime: 0,
  })
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      title="Cost of this chat"
      about="Includes all branches and delegated tasks. Models without a price aren’t counted."
    >
      {error && <Failure what="The cost" error={error} again={refetch} />}
      {data && (
        <>
          <p className="figures mb-3">
            {usd(data.cost_usd)} <span className="text-quiet">for {plural(data.runs, 'run')}</span>
          </p>
          <div className="overflow-x-auto" role="region" aria-label="By model" tabIndex={0}>
            <table className="figures w-full text-left text-sm">
              <caption className="sr-only">By model</caption>
              <thead className="text-quiet">
                <tr>
                  <th scope="col" className="py-1 pr-3 font-normal">
                    Model
                  </th>
                  <th scope="col" className="py-1 pr-3 text-right font-normal">
                    Messages
                  </th>
                  <th scope="col" className="py-1 pr-3 text-right font-normal">
                    Tokens
                  </th>
                  <th scope="col" className="py-1 text-right font-normal">
                    Cost
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.by_model.map(({ model, provider, messages, usage, cost_usd }) => (
                  <tr key={`${model} ${provider}`} className="border-t border-line">
                    <th scope="row" className="py-1.5 pr-3 font-normal">
                      <Name>{model}</Name>
                    </th>
                    <td className="py-1.5 pr-3 text-right">{number(messages)}</td>
                    <td className="py-1.5 pr-3 text-right">{number(usage.total_tokens)}</td>
                    <td className="py-1.5 text-right">{usd(cost_usd)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Dialog>
  )
}
