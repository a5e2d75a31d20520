"""The MCP server that hosts start as a process of their own (`manage.py mcp`): route and route_mcts over stdin and stdout.

server      the protocol: lists the tools, hands a call to its tool, tells the caller what is wrong with it
tools       what the tools take and answer, under every accepted spelling of their names
inside      answered by the services of this installation's data dir
remote      answered by a server
"""
