"""Shadow policies: a drafted policy judges live decisions again, beside the live one, and nobody acts by what it says.

`taking` takes along with a decision's event what two policies can be judged by; the ledger's writer has it judged (`judging`)
after the answer was given. `running` begins and ends a shadow policy; `telling` says what it found.
"""
