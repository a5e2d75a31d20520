from django.apps import AppConfig


class ControlConfig(AppConfig):
    name = "control"
    label = "control"
    verbose_name = "Switchyard console and API"

    def ready(self) -> None:
        from control import signing

        signing.connect()
